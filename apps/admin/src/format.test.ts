import { formatTable } from './format';

describe('formatTable', () => {
  it('makes each column as wide as its longest cell, with no space at the end of a line', () => {
    expect(
      formatTable(
        ['ID', 'NAME'],
        [
          ['1', 'ci'],
          ['1000', ''],
        ],
      ),
    ).toBe('ID    NAME\n1     ci\n1000\n');
  });

  it('shows the titles of an empty table', () => {
    expect(formatTable(['ID', 'NAME'], [])).toBe('ID  NAME\n');
  });
});
