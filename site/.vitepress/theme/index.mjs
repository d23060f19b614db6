// @ts-check
import DefaultTheme from 'vitepress/theme';
import './site.css';
import './diagrams.css';

export default DefaultTheme;
