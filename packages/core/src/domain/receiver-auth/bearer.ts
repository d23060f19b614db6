import type { AuthKind } from './kind';

/** A token that the receiver has given out. */
export const bearer = {
  name: 'Bearer',
  description: 'A fixed token: every request carries the same one.',
  members: {
    token: {
      kind: 'text',
      // As long as servers take headers.
      most: 8_192,
      form: {
        pattern: /^[\x21-\x7e]+$/,
        message: 'must be 1 to 8192 visible ASCII characters, with no white space',
      },
      isSecret: true,
      description: 'The token that each request carries after `Bearer`. No response shows it.',
    },
  },
  header: ({ token }: Readonly<Record<'token', string>>) => `Bearer ${token}`,
} as const satisfies AuthKind;
