// A page of somebody else's, in React: the test bundles it with the version that it is about, and steers it by `show`.
import {
  PortalSession,
  useChanges,
  useCreateWebhook,
  useDeliveries,
  useDelivery,
  useEventTypes,
  usePortalSession,
  useRedeliver,
  useUpdateWebhook,
  useWebhook,
  useWebhooks,
} from '@hookferry/portal/hooks';
import { HookferryPortal } from '@hookferry/portal/react';
import { Component, StrictMode, useState, version } from 'react';
import { createRoot } from 'react-dom/client';

window.reactVersion = version;
window.told = [];
const tell = (name) => (detail) => window.told.push({ name, ...detail });

const root = createRoot(document.getElementById('root'));
const PARTS = { Portal, Webhooks, OneWebhook, Deliveries, Types, Outside };
/** Renders a part of this page with its properties; without one nothing. */
window.show = (name, properties = {}) => {
  const Part = PARTS[name];
  root.render(
    <StrictMode>
      <Caught key={name}>{Part ? <Part {...properties} /> : null}</Caught>
    </StrictMode>,
  );
};

class Caught extends Component {
  state = {};

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    return this.state.error ? <p role="alert">{this.state.error.message}</p> : this.props.children;
  }
}

function Portal({ round = 1, ...properties }) {
  return (
    <HookferryPortal
      session="/portal-link"
      className="frame"
      // Others with each rendering, as functions in components are.
      onReady={tell(`ready ${round}`)}
      onNavigated={tell(`navigated ${round}`)}
      onCreated={tell(`created ${round}`)}
      onFailed={tell(`failed ${round}`)}
      {...properties}
    />
  );
}

const within = (Part) =>
  function Within({ baseUrl, ...properties }) {
    return (
      <PortalSession baseUrl={baseUrl} session="/portal-link">
        <Part {...properties} />
      </PortalSession>
    );
  };

/** What a hook says, where the test reads it. */
function State({ name, isLoading, error, count, children }) {
  return (
    <section aria-label={name} aria-busy={isLoading}>
      <p>{count === undefined ? 'not read' : `${count} read`}</p>
      {error && (
        <p role="alert">
          {error.code}: {error.message}
        </p>
      )}
      {children}
    </section>
  );
}

const WebhooksHere = within(function List({ query }) {
  const { items, isLoading, error, hasMore, loadMore, reload } = useWebhooks(query);
  const { run, isRunning, error: refusal } = useCreateWebhook();
  const [ending, setEnding] = useState('');
  const create = async (url) => {
    const { isDone, data } = await run({ url, events: ['*'] });
    setEnding(isDone ? `created with ${data.secret}` : 'refused');
    if (isDone) reload();
  };
  return (
    <State name="Webhooks" isLoading={isLoading} error={error} count={items?.length}>
      {items?.map(({ id, url }) => (
        <p key={id}>{url}</p>
      ))}
      {hasMore && <button onClick={loadMore}>More</button>}
      <button onClick={reload}>Reload</button>
      <button disabled={isRunning} onClick={() => void create('https://example.com/by-hooks')}>
        Create
      </button>
      <button disabled={isRunning} onClick={() => void create('not a URL')}>
        Create wrongly
      </button>
      <output>{ending}</output>
      {refusal && <p className="refusal">{refusal.errors?.map(({ pointer }) => pointer).join()}</p>}
    </State>
  );
});

function Webhooks(properties) {
  return <WebhooksHere {...properties} />;
}

const OneWebhookHere = within(function One({ id }) {
  const { data, isLoading, error, reload } = useWebhook(id);
  const { run } = useUpdateWebhook(id);
  const rename = async () => {
    await run({ description: 'Renamed' });
    reload();
  };
  return (
    <State name="Webhook" isLoading={isLoading} error={error} count={data && 1}>
      <p>{data?.description}</p>
      <button onClick={() => void rename()}>Rename</button>
    </State>
  );
});

function OneWebhook(properties) {
  return <OneWebhookHere {...properties} />;
}

const DeliveriesHere = within(function List() {
  const { items = [], isLoading, error, reload } = useDeliveries({ limit: 5 });
  const { data: session } = usePortalSession();
  const [first] = items;
  const ended = useChanges(({ event }) => {
    if (['ready', 'delivery', 'reset'].includes(event)) reload();
  });
  return (
    <State name="Deliveries" isLoading={isLoading} error={error ?? ended} count={items.length}>
      <p>{session && `may ${session.capabilities.join(', ')}`}</p>
      {first && <Delivery id={first.id} />}
    </State>
  );
});

function Delivery({ id }) {
  const { data } = useDelivery(id);
  const { run, error } = useRedeliver();
  return (
    <>
      <p>{data && `${data.event_type} was sent to ${data.webhook_id}`}</p>
      <button onClick={() => void run(id)}>Send again</button>
      {error && <p className="refusal">{error.code}</p>}
    </>
  );
}

function Deliveries(properties) {
  return <DeliveriesHere {...properties} />;
}

const TypesHere = within(function List() {
  const { items, isLoading, error } = useEventTypes();
  return <State name="Types" isLoading={isLoading} error={error} count={items?.length} />;
});

function Types(properties) {
  return <TypesHere {...properties} />;
}

/** Outside of a session. */
function Outside() {
  useWebhooks();
  return null;
}
