import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Frame, FrameView } from './frame';

export const FrameContext = createContext<Frame | undefined>(undefined);

export function useFrame(): Frame {
  const frame = useContext(FrameContext);
  if (!frame) throw new Error('useFrame outside of FrameContext');
  return frame;
}

/** How the page around wants this one to be shown. */
export function useFrameView(): FrameView {
  const frame = useFrame();
  return useSyncExternalStore(frame.subscribe, frame.readView);
}
