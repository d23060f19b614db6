import type { AuthKind } from './kind';

/** OAuth 2.0 client credentials. Workers ask for the access tokens that requests carry. */
export const oauth2 = {
  name: 'OAuth2',
  description: 'OAuth 2.0 client credentials (RFC 6749, 4.4): requests carry an access token.',
  members: {
    token_url: {
      kind: 'url',
      example: 'https://auth.example.com/token',
      description:
        'The token endpoint of the authorization server, where the service asks for access tokens.',
    },
    client_id: {
      kind: 'text',
      most: 256,
      form: {
        pattern: /^[\x20-\x7e]+$/,
        message: 'must be 1 to 256 visible ASCII characters or spaces',
      },
      description: 'The id that the authorization server has given the service.',
    },
    client_secret: {
      kind: 'text',
      most: 1_024,
      form: {
        pattern: /^[\x20-\x7e]+$/,
        message: 'must be 1 to 1024 visible ASCII characters or spaces',
      },
      isSecret: true,
      isCredential: true,
      description: 'The secret that authenticates the service at the token URL. No response shows it.',
    },
    private_key: {
      kind: 'private_key',
      isSecret: true,
      isCredential: true,
      description:
        'In place of `client_secret`: the key that signs the assertion that authenticates the service (RFC 7523), as PKCS #8 in PEM or as a JWK. No response shows it.',
    },
    scope: {
      kind: 'text',
      most: 1_024,
      // RFC 6749, 3.3: words apart by one space each, of visible ASCII but " and \.
      form: {
        pattern: /^[!#-[\]-~]+( [!#-[\]-~]+)*$/,
        message: 'must be scopes with one space between them, such as read write',
      },
      isOptional: true,
      description:
        'The scopes to ask for, with one space between them. Default: the request for a token names none.',
    },
    audience: {
      kind: 'text',
      most: 2_048,
      form: {
        pattern: /^[\x21-\x7e]+$/,
        message: 'must be 1 to 2048 visible ASCII characters, with no white space',
      },
      example: 'https://api.example.com',
      isOptional: true,
      description: 'The `audience` to ask for. Default: the request for a token names none.',
    },
  },
  credential: {
    description: 'How the service authenticates at the token URL. No response shows the credential.',
  },
} as const satisfies AuthKind;
