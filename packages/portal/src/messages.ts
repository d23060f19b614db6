/** From the portal to the page around it. */
export type PortalMessage =
  /** It was loaded again, or its session has ended. */
  | { readonly type: 'hookferry:session-needed' }
  | { readonly type: 'hookferry:ready'; readonly path: string }
  | { readonly type: 'hookferry:navigated'; readonly path: string }
  | { readonly type: 'hookferry:created'; readonly kind: CreatedKind; readonly id: string }
  | { readonly type: 'hookferry:failed'; readonly code: string; readonly detail: string }
  /** Of its content, in CSS pixels. */
  | { readonly type: 'hookferry:height'; readonly height: number };

export type CreatedKind = 'webhook' | 'contact' | 'event' | 'replay';

export type PortalMode = 'light' | 'dark' | 'system';

/** From the page around to the portal. Absent members change nothing. */
export type PageMessage =
  /** A new link, or the code in it. */
  | { readonly type: 'hookferry:session'; readonly url?: string; readonly code?: string }
  | {
      readonly type: 'hookferry:view';
      readonly navigation?: 'shown' | 'hidden';
      readonly mode?: PortalMode;
      /** The page to go to, such as `/webhooks`. */
      readonly path?: string;
      /** Such as `en`. The portal loads itself again in another one. */
      readonly language?: string;
      /** The part of the frame that its viewer sees, in CSS pixels from the top of the frame. */
      readonly visible?: { readonly top: number; readonly height: number };
    };

/** The `detail` of each event. */
export interface HookferryPortalEvents {
  /** The first page is shown. `path` is within the portal, such as `/webhooks`. */
  readonly ready: { readonly path: string };
  readonly navigated: { readonly path: string };
  readonly created: { readonly kind: CreatedKind; readonly id: string };
  /** `code` is of the API, of `PortalError`, or `page_broken`. */
  readonly failed: { readonly code: string; readonly detail: string };
}
