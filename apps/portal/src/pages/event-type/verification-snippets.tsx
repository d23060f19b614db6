import page from '@docs/verifying-signatures.md?raw';
import { CodeBlock } from '../../components/code-block';
import { Tabs } from '../../components/tabs';
import { snippetsOf } from './snippets';

const tabs = snippetsOf(page).map(({ language, code }) => ({
  name: language,
  content: <CodeBlock text={code} label={`Verifying signatures in ${language}`} />,
}));

/** How a receiver finds out that a request is genuine: the code of the documentation, as it was when this was built. */
export function VerificationSnippets() {
  return <Tabs label="Language" tabs={tabs} />;
}
