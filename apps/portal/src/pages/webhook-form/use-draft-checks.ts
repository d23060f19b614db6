import { useEffect, useState } from 'react';
import type { faultsOfDraft } from './draft-faults';

type DraftChecks = typeof faultsOfDraft;

const noFaults: DraftChecks = () => [];

/**
 * The rules of the service, for what is typed. They are loaded once the form stands: until then, or if they can't be loaded, the
 * form finds no fault, and the service says what is wrong with what is sent.
 */
export function useDraftChecks(): DraftChecks {
  const [checks, setChecks] = useState(() => noFaults);
  useEffect(() => {
    let isGone = false;
    const load = async () => {
      const loaded = await loadDraftChecks().catch(() => noFaults);
      if (!isGone) setChecks(() => loaded);
    };
    void load();
    return () => {
      isGone = true;
    };
  }, []);
  return checks;
}

async function loadDraftChecks(): Promise<DraftChecks> {
  const { checkWithoutEval } = await import('@hookferry/core/platform/zod-without-eval');
  // Before the schemas of the core are made, which is while the next file is loaded.
  checkWithoutEval();
  return (await import('./draft-faults')).faultsOfDraft;
}
