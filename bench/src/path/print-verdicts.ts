import { printTable } from '../report/print-table';
import type { Verdict } from './judge';
import { plainContender } from './plain-contender';

/** The figures of both beside each other, with their aims. */
export function printVerdicts(title: string, verdicts: readonly Verdict[]): void {
  printTable(title, [
    ['', plainContender.name, 'this service', 'ratio', 'aim', 'met'],
    ...verdicts.map(toRow),
  ]);
}

function toRow({ name, plain, service, value, aim, met }: Verdict): string[] {
  const isOwn = value === service;
  const aimText = aim === null ? '' : `${aim}${isOwn ? ', of its own' : ''}`;
  return [
    name,
    figure(plain),
    figure(service),
    plain === 0 ? '' : (service / plain).toFixed(2),
    aimText,
    met === null ? '' : met ? 'yes' : 'no',
  ];
}

function figure(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
