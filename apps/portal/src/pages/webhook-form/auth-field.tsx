import type { AuthMember } from '@hookferry/core/domain/receiver-auth/kind';
import { authCredentialsOf, authKindOf } from '@hookferry/core/domain/receiver-auth/kinds';
import { Fragment } from 'react';
import type { ValidationError } from '../../api/problem';
import { SelectField, TextAreaField, TextField } from '../../components/field';
import { AUTH_CHOICES, type AuthDraft, askedMembers, withCredential, withType } from './auth-draft';
import { faultAt } from './fault-at';
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
  return (
    <fieldset className={styles['pairs']}>
      <legend>Authentication at the receiver</legend>
      <SelectField
        label="Requests carry"
        hint="In the header Authorization, in addition to the signature."
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
          {member.credential && <CredentialField auth={auth} onChange={onChange} />}
          <MemberField
            member={member}
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
  return (
    <SelectField
      label={authKindOf(type).credential?.field.label ?? ''}
      hint={authKindOf(type).credential?.field.hint ?? ''}
      value={auth.credential}
      onChange={(event) => onChange(withCredential(auth, event.target.value))}
    >
      {authCredentialsOf(type).map(([name, { credential }]) => (
        <option key={name} value={name}>
          {credential}
        </option>
      ))}
    </SelectField>
  );
}

interface MemberFieldProps {
  readonly member: AuthMember;
  readonly isKept: boolean;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

function MemberField({ member: { kind, field }, isKept, value, error, onChange }: MemberFieldProps) {
  const labels = { label: field.label, hint: isKept ? STAYS : field.hint };
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
