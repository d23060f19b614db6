/**
 * A kind of authentication at a receiver. All that has to do with one is in its file here: the schemas, the descriptions of the API,
 * the secrets, the fields of the portal, which has words for each, and what requests carry. The kinds import nothing but this: browsers and the
 * command line load them too.
 */
export interface AuthKind {
  /** For people. Its schemas in the description of the API are called `…Auth` by it. */
  readonly name: string;
  readonly description: string;
  /** In the order of requests and of the form, by their names on the wire, which no other kind has. */
  readonly members: Readonly<Record<string, AuthMember>>;
  /** Of a kind with members of which one is the credential. Responses show which of them there is, in a member `credential`. */
  readonly credential?: { readonly description: string };
  /** The value of `Authorization`; absent: it carries an access token. */
  readonly header?: (members: never) => string;
}

interface AnyMember {
  readonly description: string;
  /** It is sealed in the store, and neither a response nor the audit log shows it. */
  readonly isSecret?: true;
  /** `null` in a patch removes it. */
  readonly isOptional?: true;
  /** It is one of those of which a webhook has exactly one. */
  readonly isCredential?: true;
}

export type AuthMember = AnyMember &
  (
    | {
        readonly kind: 'text';
        readonly most: number;
        readonly form: { readonly pattern: RegExp; readonly message: string };
        readonly example?: string;
      }
    /** It has to be allowed, as the URL of a webhook. Another origin is another place. */
    | { readonly kind: 'url'; readonly example: string }
    /** PKCS #8 in PEM, or a JWK. It is stored as PEM, with its algorithm and its id. */
    | { readonly kind: 'private_key' }
  );
