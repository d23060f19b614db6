import { AppError } from '../kernel/app-error';

export function accountNotFound(): AppError {
  return new AppError('not_found', 'There is no account with this id.');
}
