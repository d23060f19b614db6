import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useSyncExternalStore } from 'react';
import { useSessionState } from '../session/session-context';
import { LiveContext } from './live-context';
import type { LiveFeed } from './live-feed';
import { StaleFigures } from './stale-figures';
import { readBroken, updateQueries } from './update-queries';

const LOOK_EVERY_MS = 5_000;

interface LiveProviderProps {
  readonly feed: LiveFeed;
  readonly children: ReactNode;
}

/** Runs the feed while there is a session and somebody looks, and keeps the query cache up to date by it. */
export function LiveProvider({ feed, children }: LiveProviderProps) {
  const queries = useQueryClient();
  const session = useSessionState();
  const isVisible = useSyncExternalStore(watchVisibility, readVisibility);
  const isRunning = session.kind === 'active' && isVisible;

  useEffect(() => feed.listen((message) => updateQueries(queries, message)), [feed, queries]);

  useEffect(() => {
    if (!isRunning) return undefined;
    const figures = new StaleFigures(queries);
    const stopListening = feed.listen((message) => {
      if (message.kind === 'delivery') figures.note(message.delivery);
    });
    const timer = setInterval(() => void readBroken(queries), LOOK_EVERY_MS);
    feed.start();
    return () => {
      clearInterval(timer);
      feed.stop();
      stopListening();
      figures.stop();
    };
  }, [feed, queries, isRunning]);

  return <LiveContext value={feed}>{children}</LiveContext>;
}

function watchVisibility(onChange: () => void): () => void {
  document.addEventListener('visibilitychange', onChange);
  return () => document.removeEventListener('visibilitychange', onChange);
}

const readVisibility = () => document.visibilityState === 'visible';
