import type { ContactKind } from '../domain/contact';
import { storable } from '../platform/storable-text';

/** Longer ones are cut: nobody knows a thing by more. */
const MOST_CHARACTERS = 100;
// Control characters, line ends of Unicode, and those that change the direction of a text or are not seen.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
// Programs make links of these, also in plain text. `hxxps[:]//` is how analysts write such an address.
const SCHEME = /:\/\//g;
const WWW = /\bwww\./gi;
const MENTION = /@/g;
// Is not seen, and ends a mention: no chat finds anybody by what follows.
const ZERO_WIDTH_SPACE = '\u200b';

/**
 * The name of a webhook or a key as a message shows it. A customer wrote it, and may mean to deceive: it makes no line, link,
 * mention or formatting of its own.
 */
export function plainName(name: string, kind: ContactKind): string {
  const text = name.replace(UNSEEN, ' ').replace(SCHEME, '[:]//').replace(WWW, 'www[.]');
  const cut = text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
  // Chats refuse a message with half a surrogate pair.
  const short = storable(cut);
  switch (kind) {
    // Both get plain text.
    case 'email':
    case 'webhook':
      return short;
    // Its own three characters are escaped in the whole text, and it formats nothing with `mrkdwn: false`.
    case 'slack':
      return withoutMentions(short);
    case 'discord':
    case 'teams':
      return withoutMentions(short.replace(MARKDOWN, '\\$&'));
  }
}

const MARKDOWN = /[\\`*_~|<>[\]]/g;

function withoutMentions(text: string): string {
  return text.replace(MENTION, `@${ZERO_WIDTH_SPACE}`);
}
