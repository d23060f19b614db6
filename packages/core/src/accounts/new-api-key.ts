import { encodeBytes, type NewId } from '../kernel/ids';
import { newSecretBytes, type SecretBytes } from '../kernel/secret-bytes';

const ID_CHARACTERS = 16;
const SECRET_CHARACTERS = 52; // 260 bits.

/** A new key, which nobody can guess. Of the same ids and bytes it is the same key. */
export function newApiKey(newId: NewId, secretBytes: SecretBytes = newSecretBytes): string {
  const id = newId('key').slice(-ID_CHARACTERS);
  return `whk_${id}_${encodeBytes(secretBytes(SECRET_CHARACTERS), SECRET_CHARACTERS)}`;
}
