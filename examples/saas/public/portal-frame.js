// Gives the portal a link when the page is loaded, and again when its session has ended or it was loaded again.
const frame = document.getElementById('portal');
let portalOrigin;

async function newLink() {
  const response = await fetch('/portal-link', { method: 'POST' });
  if (response.status === 401) location.assign('/');
  if (!response.ok) throw new Error(`No link to the portal: ${response.status}`);
  const { url } = await response.json();
  portalOrigin = new URL(url).origin;
  return url;
}

async function giveLink() {
  const url = await newLink();
  frame.contentWindow.postMessage({ type: 'hookferry:session', url }, portalOrigin);
}

addEventListener('message', ({ origin, source, data }) => {
  if (origin !== portalOrigin || source !== frame.contentWindow) return;
  if (data?.type === 'hookferry:session-needed') void giveLink();
});
frame.src = await newLink();
