export type { CreatedKind, PageMessage, PortalMessage, PortalMode } from './messages.ts';
export { HookferryPortalElement, type HookferryPortalEvents } from './portal-element.ts';
export { PortalError, type SessionSource } from './session-link.ts';
