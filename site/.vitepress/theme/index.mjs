// @ts-check
import DefaultTheme from 'vitepress/theme';
// oxlint-disable-next-line import/no-unassigned-import -- styles have nothing to assign
import './site.css';
// oxlint-disable-next-line import/no-unassigned-import -- likewise
import './diagrams.css';

export default DefaultTheme;
