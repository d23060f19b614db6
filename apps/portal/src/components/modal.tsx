import { lazy, Suspense } from 'react';
import type { ModalProps } from './modal-window';

export const loadModal = async () => await import('./modal-window');

const Window = lazy(async () => ({ default: (await loadModal()).ModalWindow }));

/** A window over the page. Its code is loaded with the first one, or once the first page stands. */
export function Modal(props: ModalProps) {
  return (
    <Suspense fallback={null}>
      <Window {...props} />
    </Suspense>
  );
}
