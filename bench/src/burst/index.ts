import type { SuiteOptions } from '../suite';
export async function runBurstSuite(_o: SuiteOptions): Promise<void> {}
