import { t } from '@lingui/core/macro';
import { useEffect, useState } from 'react';
import { Button } from './button';
import { useToasts } from './toasts';

// Long enough to be seen.
const SHOWN_MS = 1_500;

export interface CopyButtonProps {
  readonly text: string | (() => Promise<string>);
  /** For screen readers. */
  readonly label: string;
  readonly children?: string;
}

export function CopyButton({ text, label, children }: CopyButtonProps) {
  const [isCopied, setIsCopied] = useState(false);
  const toasts = useToasts();

  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
      setIsCopied(true);
    } catch {
      // A frame may be without the right, and plain http has no clipboard.
      toasts.fail(t`This browser does not allow the page to copy. Select the text and copy it yourself.`);
    }
  };

  return (
    <Button
      size="small"
      kind={children ? 'plain' : 'quiet'}
      aria-label={isCopied ? t`Copied` : label}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{isCopied ? t`Copied` : (children ?? t`Copy`)}</span>
    </Button>
  );
}
