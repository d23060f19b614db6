// The portal in a frame, as a Web Component: see settingsPage in pages.mjs. It asks /portal-link for each session by itself.
// oxlint-disable-next-line import/no-unassigned-import -- it defines the element
import './hookferry-portal/index.js';

const portal = document.querySelector('hookferry-portal');
const problem = document.getElementById('portal-problem');

portal.addEventListener('ready', () => {
  problem.textContent = '';
});
portal.addEventListener('created', ({ detail }) => {
  document.getElementById('last-created').textContent = `Created: ${detail.kind} ${detail.id}`;
});
portal.addEventListener('failed', ({ detail }) => {
  problem.textContent = `Your webhooks can't be shown: ${detail.detail}`;
});
