import page from '@docs/verifying-signatures.md?raw';
import { t } from '@lingui/core/macro';
import { CodeBlock } from '../../components/code-block';
import { Tabs } from '../../components/tabs';
import { snippetsOf } from './snippets';

const tabs = snippetsOf(page).map(({ language, code }) => ({
  name: language,
  content: <CodeBlock text={code} label={t`Verifying signatures in ${language}`} />,
}));

/** The documentation's code to verify requests, as of this build. */
export function VerificationSnippets() {
  return <Tabs label={t`Language`} tabs={tabs} />;
}
