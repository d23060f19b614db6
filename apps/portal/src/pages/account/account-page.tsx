import { t } from '@lingui/core/macro';
import { useQuery } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { useSessionStore } from '../../session/session-context';
import { AccountStatus } from '../accounts/account-status';
import { PausedBy, PauseSwitch } from '../operations/pausing';
import { PageHeader } from '../page-header';
import { AccountActivity, PAUSED } from './account-activity';
import { AccountSettings } from './account-settings';
import { useAccountUsage } from './account-usage';
import { ApiKeys } from './api-keys';
import { OfAccount } from './of-account';

const LIST = { href: '/accounts', label: t`Accounts` };

interface AccountPageProps {
  readonly params: { readonly id?: string };
}

/** One account, for the operator: how it does, what it uses, what it may use, and who may ask for it. */
export function AccountPage({ params: { id = '' } }: AccountPageProps) {
  const api = useApi();
  const session = useSessionStore();
  const [, navigate] = useLocation();
  const {
    data: account,
    error,
    refetch,
  } = useQuery({
    queryKey: queryKeys.account(id),
    queryFn: ({ signal }) => ask(api.GET('/v1/accounts/{id}', { params: { path: { id } }, signal })),
  });
  const usage = useAccountUsage(id);
  if (!account) {
    return (
      <>
        <PageHeader title={id} parent={LIST} />
        {error ? <Problem error={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
      </>
    );
  }

  const { erasure } = account;
  const facts = (
    <Facts
      facts={{
        [t`Id`]: (
          <>
            <code>{id}</code> <CopyButton text={id} label={t`Copy the account’s id`} />
          </>
        ),
        [t`Created`]: <Time at={account.created_at} />,
        [t`Erasure asked for`]: erasure && <Time at={erasure.requested_at} />,
        [t`Webhooks left`]: erasure?.webhooks_left,
        [t`Events left`]: erasure?.events_left,
      }}
    />
  );
  const seeAsCustomer = () => {
    session.viewAccount(id);
    navigate('/deliveries');
  };
  return (
    <>
      <PageHeader title={account.name ?? id} parent={LIST} state={<AccountStatus {...account} />}>
        {!erasure && (
          <PauseSwitch
            subject={{ kind: 'account', id }}
            label={t`deliveries`}
            isPaused={account.pause !== null}
          />
        )}
        {!erasure && <Button onClick={seeAsCustomer}>{t`See what the customer sees`}</Button>}
      </PageHeader>
      {erasure ? (
        facts
      ) : (
        <>
          <OfAccount key={id} id={id}>
            <AccountActivity account={account} usage={usage}>
              {account.pause && (
                <p id={PAUSED}>
                  <PausedBy pause={account.pause} />
                </p>
              )}
            </AccountActivity>
          </OfAccount>
          <Section title={t`About this account`}>{facts}</Section>
          <AccountSettings
            key={`${account.weight} ${account.quota_bytes} ${account.history_retention} ${account.default_signing} ${account.endpoint_verification}`}
            account={account}
          />
          <ApiKeys accountId={id} />
        </>
      )}
    </>
  );
}
