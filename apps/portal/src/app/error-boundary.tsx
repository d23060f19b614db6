import { t } from '@lingui/core/macro';
import { Component, type ReactNode } from 'react';
import { Problem } from '../components/problem';
import { PageHeader } from '../pages/page-header';

interface Props {
  /** A new value clears the error: another page may work. */
  readonly place: string;
  /** Before the page is shown once more. */
  readonly onRetry: () => void;
  readonly onError: (error: Error) => void;
  readonly children: ReactNode;
}

interface State {
  readonly error?: Error | undefined;
  readonly place?: string;
}

/** A page that breaks says so, and leaves the others reachable. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = {};

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ place }: Props, state: State): State | null {
    return place === state.place ? null : { place, error: undefined };
  }

  override componentDidCatch(error: Error) {
    this.props.onError(error);
  }

  readonly #retry = () => {
    this.props.onRetry();
    this.setState({ error: undefined });
  };

  override render() {
    const { error } = this.state;
    return error ? (
      <>
        <PageHeader title={t`This page does not work`} />
        <Problem error={error} onRetry={this.#retry} />
      </>
    ) : (
      this.props.children
    );
  }
}
