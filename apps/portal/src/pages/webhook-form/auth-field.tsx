import type { ValidationError } from '../../api/problem';
import { SelectField, TextAreaField, TextField } from '../../components/field';
import { AUTH_CHOICES, type AuthDraft } from './auth-draft';
import { faultAt } from './draft-faults';
import styles from './webhook-form.module.css';

interface AuthFieldProps {
  readonly auth: AuthDraft;
  /** True if the webhook has a secret, which stays if none is typed. */
  readonly hasSecret: boolean;
  readonly validationErrors: readonly ValidationError[];
  readonly onChange: (auth: AuthDraft) => void;
}

const STAYS = 'Empty: no change. It is never shown again.';

/** The kind of `auth`, and the fields of that kind. */
export function AuthField({ auth, hasSecret, validationErrors, onChange }: AuthFieldProps) {
  const change = (part: Partial<AuthDraft>) => onChange({ ...auth, ...part });
  const fieldOf = (
    name: Exclude<keyof AuthDraft, 'type' | 'credential'>,
    label: string,
    hint: string,
    member: string,
  ) => (
    <TextField
      label={label}
      hint={hint}
      autoComplete="off"
      value={auth[name]}
      error={faultAt(validationErrors, `/auth/${member}`)}
      onChange={(event) => change({ [name]: event.target.value })}
    />
  );
  const secretOf = (label: string, hint: string, member: string) =>
    fieldOf('secret', label, hasSecret ? STAYS : hint, member);
  return (
    <fieldset className={styles['pairs']}>
      <legend>Authentication at the receiver</legend>
      <SelectField
        label="Requests carry"
        hint="In the header Authorization, in addition to the signature."
        value={auth.type}
        onChange={(event) => change({ type: event.target.value as AuthDraft['type'], secret: '' })}
      >
        {Object.entries(AUTH_CHOICES).map(([type, label]) => (
          <option key={type} value={type}>
            {label}
          </option>
        ))}
      </SelectField>
      {auth.type === 'basic' && (
        <>
          {fieldOf('username', 'Name', 'Without a colon.', 'username')}
          {secretOf('Password', 'It is never shown again.', 'password')}
        </>
      )}
      {auth.type === 'bearer' &&
        secretOf('Token', 'The token after Bearer. It is never shown again.', 'token')}
      {auth.type === 'oauth2' && (
        <>
          {fieldOf('tokenUrl', 'Token URL', 'The token endpoint of the authorization server.', 'token_url')}
          {fieldOf(
            'clientId',
            'Client id',
            'The id of this service at the authorization server.',
            'client_id',
          )}
          <SelectField
            label="It authenticates with"
            hint="The method that is registered at the authorization server."
            value={auth.credential}
            onChange={(event) =>
              change({ credential: event.target.value as AuthDraft['credential'], secret: '' })
            }
          >
            <option value="client_secret">A client secret</option>
            <option value="private_key">A private key, which signs an assertion</option>
          </SelectField>
          {auth.credential === 'client_secret' ? (
            secretOf('Client secret', 'It is never shown again.', 'client_secret')
          ) : (
            <TextAreaField
              label="Private key"
              hint={hasSecret ? STAYS : 'PKCS #8 in PEM. It is never shown again.'}
              value={auth.secret}
              error={faultAt(validationErrors, '/auth/private_key')}
              onChange={(event) => change({ secret: event.target.value })}
            />
          )}
          {fieldOf(
            'scope',
            'Scope',
            'The scopes to ask for, with spaces between them. Empty: the default of the server.',
            'scope',
          )}
          {fieldOf('audience', 'Audience', 'The audience to ask for, if the server needs one.', 'audience')}
        </>
      )}
    </fieldset>
  );
}
