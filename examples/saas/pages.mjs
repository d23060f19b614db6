// The product's pages, as text. All that tenants have typed goes through `html`, which escapes it.

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function html(parts, ...values) {
  const shown = values.map((value) => [value].flat().map(escapeValue).join(''));
  return { html: String.raw({ raw: parts }, ...shown) };
}

function escapeValue(value) {
  return typeof value?.html === 'string'
    ? value.html
    : String(value).replace(/[&<>"']/g, (sign) => ESCAPES[sign]);
}

function layout(title, body) {
  return html`<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>${title}</title>
  <style>
    body { font: 16px system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
    hookferry-portal { border: 1px solid #8888 }
    form { margin: 1rem 0 }
    nav form, td form { display: inline; margin: 0 }
  </style>
  <body>${body}</body>
</html>`.html;
}

export function welcomePage(problem = '') {
  return layout(
    'Shop',
    html`<h1>Shop</h1>
    <p role="alert">${problem}</p>
    <form method="post">
      <label>Company <input name="name" required maxlength="100"></label>
      <label>Password <input name="password" type="password" required minlength="8" maxlength="200"></label>
      <button formaction="/sign-up">Sign up</button>
      <button formaction="/log-in">Log in</button>
    </form>`,
  );
}

export function ordersPage({ name }, orders) {
  const row = ({ id, total, paid }) =>
    html`<tr><td>${id}</td><td>${total.toFixed(2)}</td><td>${
      paid
        ? 'paid'
        : html`<form method="post" action="/orders/${id}/pay"><button>Mark as paid</button></form>`
    }</td></tr>`;
  return layout(
    'Orders',
    html`${menu(name)}
    <h1>Orders</h1>
    <form method="post" action="/orders">
      <label>Total <input name="total" type="number" step="0.01" min="0" required></label>
      <button>New order</button>
    </form>
    <table>${orders.map(row)}</table>`,
  );
}

export function settingsPage({ name }, hookferry) {
  return layout(
    'Settings',
    html`${menu(name)}
    <h1>Webhooks</h1>
    <p>The same <a href="/webhooks">on a page of our own</a></p>
    <p id="portal-problem" role="alert"></p>
    <p id="last-created" role="status"></p>
    <hookferry-portal base-url="${hookferry}" session-url="/portal-link" page="/webhooks"></hookferry-portal>
    <script type="module" src="/portal.js"></script>
    <h2>Leave</h2>
    <form method="post" action="/leave"><button>Delete all our data</button></form>`,
  );
}

export function webhooksPage({ name }, hookferry) {
  return layout(
    'Webhooks',
    html`${menu(name)}
    <h1>Webhooks</h1>
    <div id="webhooks" data-hookferry="${hookferry}"></div>
    <script type="module" src="/webhooks-page.js"></script>`,
  );
}

function menu(name) {
  return html`<nav><b>${name}</b> <a href="/orders">Orders</a> <a href="/settings">Settings</a>
    <form method="post" action="/log-out"><button>Log out</button></form></nav>`;
}
