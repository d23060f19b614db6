import { createContext, useContext, useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import type { LiveFeed, LiveStatus } from './live-feed';
import type { LiveMessage } from './live-message';

export const LiveContext = createContext<LiveFeed | undefined>(undefined);

function useLiveFeed(): LiveFeed {
  const feed = useContext(LiveContext);
  if (!feed) throw new Error('useLiveFeed outside of LiveContext');
  return feed;
}

export function useLiveStatus(): LiveStatus {
  const feed = useLiveFeed();
  return useSyncExternalStore(feed.watch, feed.read);
}

/** Calls back with each change while the component is there. What the query cache has is updated without it. */
export function useLiveMessages(onMessage: (message: LiveMessage) => void): void {
  const feed = useLiveFeed();
  const listener = useEffectEvent(onMessage);
  useEffect(() => feed.listen((message) => listener(message)), [feed]);
}
