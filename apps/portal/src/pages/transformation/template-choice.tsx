import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { useTemplates } from '../../api/transformation-queries';
import { SelectField } from '../../components/field';
import styles from './transformation.module.css';

/** Code to begin with, for receivers whose form is known. What is in the editor can be brought back by its undo. */
export function TemplateChoice({ onChoose }: { readonly onChoose: (code: string) => void }) {
  const { data: templates = [] } = useTemplates();
  const [name, setName] = useState('');
  const chosen = templates.find((template) => template.name === name);
  return (
    <div className={styles['template']}>
      <SelectField
        label={t`Begin with a template`}
        value={name}
        onChange={({ target }) => {
          setName(target.value);
          const template = templates.find((one) => one.name === target.value);
          if (template) onChoose(template.code);
        }}
      >
        <option value="">
          <Trans context="template">none</Trans>
        </option>
        {templates.map(({ name: value, title }) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </SelectField>
      {chosen && (
        <a href={chosen.form} target="_blank" rel="noreferrer">
          <Trans>Documentation of its format</Trans>
        </a>
      )}
    </div>
  );
}
