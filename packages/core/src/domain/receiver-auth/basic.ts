import type { AuthKind } from './kind';

/** HTTP Basic authentication (RFC 7617). */
export const basic = {
  name: 'Basic',
  description: 'HTTP Basic authentication: requests carry a user name and a password.',
  members: {
    username: {
      kind: 'text',
      most: 256,
      // A colon ends the name.
      form: {
        pattern: /^[^:\p{Cc}]+$/u,
        message: 'must be 1 to 256 characters, none of them ":" or a control character',
      },
      description: 'The user name of HTTP Basic authentication.',
    },
    password: {
      kind: 'text',
      most: 1_024,
      form: {
        pattern: /^\P{Cc}+$/u,
        message: 'must be 1 to 1024 characters, none of them a control character',
      },
      isSecret: true,
      description: 'The password of HTTP Basic authentication. No response shows it.',
    },
  },
  // In UTF-8.
  header: ({ username, password }: Readonly<Record<'username' | 'password', string>>) =>
    `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
} as const satisfies AuthKind;
