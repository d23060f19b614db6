export type {
  CreatedKind,
  HookferryPortalEvents,
  PageMessage,
  PortalMessage,
  PortalMode,
} from './messages.ts';
export { HookferryPortalElement } from './portal-element.ts';
export { PortalError, type SessionSource } from './session-link.ts';
