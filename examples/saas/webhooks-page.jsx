// The same webhooks on a page of the shop's own, in its own words: hooks in place of the portal, and the portal in a frame for the rest.
// `npm run build` bundles it.
import {
  PortalSession,
  useChanges,
  useCreateWebhook,
  useDeliveries,
  useRedeliver,
  useWebhooks,
} from '@hookferry/portal/hooks';
import { HookferryPortal } from '@hookferry/portal/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

const root = document.getElementById('webhooks');
const { hookferry } = root.dataset;
createRoot(root).render(
  <>
    {/* Its requests go to another origin, with the token of a session: PORTAL_ALLOWED_ORIGINS of Hookferry names the shop's. */}
    <PortalSession baseUrl={hookferry} session="/portal-link">
      <Webhooks />
      <Deliveries />
    </PortalSession>
    <EventTypes />
  </>,
);

/** What the shop has no page of its own for: the portal's, without its navigation. */
function EventTypes() {
  const [problem, setProblem] = useState('');
  return (
    <section aria-label="Event types">
      <h2>What can be sent</h2>
      {problem && <p role="alert">{problem}</p>}
      <HookferryPortal
        baseUrl={hookferry}
        session="/portal-link"
        page="/event-types"
        hideNavigation
        label="Event types"
        onReady={() => setProblem('')}
        onFailed={({ detail }) => setProblem(detail)}
      />
    </section>
  );
}

function Webhooks() {
  const { items = [], isLoading, error, hasMore, loadMore, reload } = useWebhooks({ limit: 2 });
  const { run, isRunning, error: refusal } = useCreateWebhook();
  const [secret, setSecret] = useState();

  const add = async (event) => {
    event.preventDefault();
    const url = new FormData(event.currentTarget).get('url');
    const ending = await run({ url, events: ['order.*'] });
    if (!ending.isDone) return;
    setSecret(ending.data.secret);
    reload();
  };

  return (
    <section aria-label="Webhooks" aria-busy={isLoading}>
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {items.map(({ id, url, status }) => (
          <li key={id}>
            {url}: {status}
          </li>
        ))}
      </ul>
      {hasMore && <button onClick={loadMore}>More webhooks</button>}
      <form onSubmit={(event) => void add(event)}>
        <label>
          Send orders to <input name="url" type="url" required />
        </label>
        <button disabled={isRunning}>Add</button>
        {refusal && <p role="alert">{refusal.message}</p>}
        {secret && (
          <p>
            Verify requests with <code>{secret}</code>. It is not shown again.
          </p>
        )}
      </form>
    </section>
  );
}

function Deliveries() {
  const { items = [], error, reload } = useDeliveries({ limit: 20 });
  const { run, error: refusal } = useRedeliver();
  useChanges(({ event }) => {
    // What happened before the first `ready` came without a change.
    if (['ready', 'delivery', 'reset'].includes(event)) reload();
  });

  return (
    <section aria-label="Deliveries">
      <h2>Last deliveries</h2>
      {(error ?? refusal) && <p role="alert">{(error ?? refusal).message}</p>}
      <table>
        <tbody>
          {items.map(({ id, event_type: type, status }) => (
            <tr key={id}>
              <td>{type}</td>
              <td>{status}</td>
              <td>
                <button onClick={() => void run(id)}>Send again</button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
