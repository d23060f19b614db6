import type { AuthMember } from '@hookferry/core/domain/receiver-auth/kind';
import { authCredentialsOf } from '@hookferry/core/domain/receiver-auth/kinds';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Fragment } from 'react';
import type { ValidationError } from '../../api/problem';
import { SelectField, TextAreaField, TextField } from '../../components/field';
import { AUTH_CHOICES, type AuthDraft, askedMembers, withCredential, withType } from './auth-draft';
import { authWordsOf } from './auth-words';
import { faultAt } from './fault-at';
import styles from './webhook-form.module.css';

interface AuthFieldProps {
  readonly auth: AuthDraft;
  /** True if the webhook has a secret, which stays if none is typed. */
  readonly hasSecret: boolean;
  readonly validationErrors: readonly ValidationError[];
  readonly onChange: (auth: AuthDraft) => void;
}

const STAYS = t`Empty: no change. It is never shown again.`;

/** The kind of `auth`, and the fields of that kind. */
export function AuthField({ auth, hasSecret, validationErrors, onChange }: AuthFieldProps) {
  return (
    <fieldset className={styles['pairs']}>
      <legend>
        <Trans>Authentication at the receiver</Trans>
      </legend>
      <SelectField
        label={t`Requests carry`}
        hint={t`In the header Authorization, in addition to the signature.`}
        value={auth.type}
        onChange={(event) => onChange(withType(auth, event.target.value as AuthDraft['type']))}
      >
        {AUTH_CHOICES.map(([type, label]) => (
          <option key={type} value={type}>
            {label}
          </option>
        ))}
      </SelectField>
      {askedMembers(auth).map(([name, member]) => (
        <Fragment key={name}>
          {member.isCredential && <CredentialField auth={auth} onChange={onChange} />}
          <MemberField
            kind={member.kind}
            words={auth.type === '' ? undefined : authWordsOf(auth.type).members[name]}
            isKept={hasSecret && member.isSecret === true}
            value={auth.members[name] ?? ''}
            error={faultAt(validationErrors, `/auth/${name}`)}
            onChange={(value) => onChange({ ...auth, members: { ...auth.members, [name]: value } })}
          />
        </Fragment>
      ))}
    </fieldset>
  );
}

/** Which of the credentials of its kind it has. */
function CredentialField({ auth, onChange }: Pick<AuthFieldProps, 'auth' | 'onChange'>) {
  const { type } = auth;
  if (type === '') return null;
  const words = authWordsOf(type);
  return (
    <SelectField
      label={words.credential?.label ?? ''}
      hint={words.credential?.hint ?? ''}
      value={auth.credential}
      onChange={(event) => onChange(withCredential(auth, event.target.value))}
    >
      {authCredentialsOf(type).map(([name]) => (
        <option key={name} value={name}>
          {words.members[name]?.choice}
        </option>
      ))}
    </SelectField>
  );
}

interface MemberFieldProps {
  readonly kind: AuthMember['kind'];
  readonly words: { readonly label: string; readonly hint: string } | undefined;
  readonly isKept: boolean;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

function MemberField({ kind, words, isKept, value, error, onChange }: MemberFieldProps) {
  const labels = { label: words?.label ?? '', hint: isKept ? STAYS : words?.hint };
  if (kind === 'private_key') {
    return (
      <TextAreaField
        {...labels}
        value={value}
        error={error}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  return (
    <TextField
      {...labels}
      autoComplete="off"
      value={value}
      error={error}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
