import { signalSamples } from '../testing/signal-samples';
import { createEmit } from './signal';

describe('createEmit', () => {
  it('tells every listener, in the order given', () => {
    const heard: string[] = [];
    const emit = createEmit([
      (signal) => heard.push(`first ${signal.name}`),
      (signal) => heard.push(`second ${signal.name}`),
    ]);
    emit(signalSamples['process.stopped']);
    expect(heard).toEqual(['first process.stopped', 'second process.stopped']);
  });
});
