import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createApi } from './api/client';
import { createQueryClient } from './api/query-client';
import { App } from './app/app';
import './app/global.css';
import { LiveFeed } from './live/live-feed';
import { Frame } from './session/frame';
import { SessionStore } from './session/session-store';
import { createSignIn } from './session/sign-in';
import { startSession } from './session/start-session';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no element "root"');

const session = new SessionStore();
const frame = new Frame();
const asks = { headers: session.headers, onUnauthenticated: () => session.end() };
const api = createApi({
  ...asks,
  onCreated: (kind, id) => frame.tell({ type: 'hookferry:created', kind, id }),
});
const signIn = createSignIn(createApi({ headers: () => ({}), onUnauthenticated: () => undefined }));
const feed = new LiveFeed({ ...asks, address: '/v1/stream' });
const queries = createQueryClient();

// Nothing of one account may be seen in another's pages.
session.onOtherAccount(() => {
  queries.clear();
  feed.startAnew();
});

createRoot(root).render(
  <StrictMode>
    <App frame={frame} session={session} signIn={signIn} api={api} queries={queries} feed={feed} />
  </StrictMode>,
);
void startSession(session, signIn, frame);
