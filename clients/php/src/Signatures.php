<?php

declare(strict_types=1);

namespace Hookferry;

/** @internal Checks the signatures of requests. */
final class Signatures
{
    /** @var list<array{issued: string, decoded: string}> */
    private readonly array $secrets;

    /** @var list<string> 32 bytes each */
    private readonly array $keys;

    /**
     * @param list<?string> $secrets
     * @param list<?string> $publicKeys
     * @throws VerificationError missing_secret, not_a_secret, not_a_key
     */
    public function __construct(
        array $secrets,
        array $publicKeys,
        private readonly int $tolerance,
        private readonly string $serviceHeader,
        private readonly string $servicePrefix,
    ) {
        if ($secrets === [] && $publicKeys === []) {
            throw self::missingSecret('"secrets" must be a list of one or more');
        }
        $this->secrets = array_map(self::parseSecret(...), array_values($secrets));
        $this->keys = array_map(self::parseKey(...), array_values($publicKeys));
    }

    /**
     * @return array{id: ?string, timestamp: ?int} the signed facts; X-Service-Signature covers neither
     * @throws VerificationError
     */
    public function verify(string $body, Headers $headers, int $now): array
    {
        $signatures = $headers->read('webhook-signature');
        if ($signatures !== null) {
            return $this->verifyStandard($body, explode(' ', $signatures), $headers, $now);
        }
        if ($this->secrets === []) {
            throw VerificationError::missingHeader(
                'webhook-signature',
                'is missing: check that no proxy removes it',
            );
        }
        $this->verifyService($body, $headers);
        return ['id' => null, 'timestamp' => null];
    }

    /**
     * @param list<string> $given
     * @return array{id: string, timestamp: int}
     */
    private function verifyStandard(string $body, array $given, Headers $headers, int $now): array
    {
        $id = $headers->require('webhook-id');
        $time = $headers->require('webhook-timestamp');
        if (preg_match('/^[0-9]{1,12}$/D', $time) !== 1) {
            throw VerificationError::missingHeader('webhook-timestamp', 'is not a time in whole seconds');
        }
        $signed = ['id' => $id, 'timestamp' => (int) $time];
        $this->requireFresh($signed['timestamp'] - $now);
        $message = "$id.$time.$body";
        foreach ($this->secrets as ['decoded' => $key]) {
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', $message, $key, true));
            foreach ($given as $signature) {
                if (hash_equals($expected, $signature)) {
                    return $signed;
                }
            }
        }
        if ($this->isSignedByKey($given, $message)) {
            return $signed;
        }
        throw self::noMatch('webhook-signature');
    }

    /** @param list<string> $given */
    private function isSignedByKey(array $given, string $message): bool
    {
        foreach ($given as $signature) {
            $bytes = str_starts_with($signature, 'v1a,') ? self::decodeBase64(substr($signature, 4)) : null;
            if ($bytes === null || strlen($bytes) !== 64) {
                continue;
            }
            foreach ($this->keys as $key) {
                if (sodium_crypto_sign_verify_detached($bytes, $message, $key)) {
                    return true;
                }
            }
        }
        return false;
    }

    private function verifyService(string $body, Headers $headers): void
    {
        $name = $this->serviceHeader;
        $given = $headers->read($name) ?? throw VerificationError::missingHeader(
            'webhook-signature',
            "is missing, and so is $name: pass all headers, and check that no proxy removes them",
        );
        foreach ($this->secrets as ['issued' => $key]) {
            if (hash_equals($this->servicePrefix . hash_hmac('sha256', $body, $key), $given)) {
                return;
            }
        }
        throw self::noMatch($name);
    }

    private function requireFresh(int $skew): void
    {
        if (abs($skew) <= $this->tolerance) {
            return;
        }
        $where = $skew < 0 ? 'behind' : 'ahead of';
        throw new VerificationError('timestamp_skew', "The request's time is " . abs($skew) . " s $where this clock, "
            . "more than the {$this->tolerance} s allowed: set the clock (NTP), unless this is an old request sent again.",
            skewSeconds: $skew);
    }

    /** @return array{issued: string, decoded: string} */
    private static function parseSecret(?string $secret): array
    {
        if ($secret === null) {
            throw self::missingSecret('the secret is not set');
        }
        // White space around a secret is ignored: files often end with a line break.
        $issued = trim($secret);
        $encoded = str_starts_with($issued, 'whsec_') ? substr($issued, 6) : $issued;
        if ($encoded === '') {
            // With an empty key, anybody could make a valid HMAC.
            throw self::missingSecret('the secret is empty');
        }
        if (str_starts_with($issued, 'whk_')) {
            throw self::notASecret('it is an API key');
        }
        if (preg_match('/\s/', $encoded) === 1) {
            throw self::notASecret('it has white space in it');
        }
        return ['issued' => $issued, 'decoded' => self::decodeBase64($encoded) ?? throw self::notASecret('it is not base64')];
    }

    private static function parseKey(?string $key): string
    {
        $text = trim($key ?? '');
        if ($text === '') {
            throw self::notAKey('it is not set');
        }
        if (!str_starts_with($text, 'whpk_')) {
            throw self::notAKey('it does not begin with whpk_');
        }
        $bytes = self::decodeBase64(substr($text, 5));
        if ($bytes === null || strlen($bytes) !== 32) {
            throw self::notAKey('it is not the base64 of 32 bytes');
        }
        if (!function_exists('sodium_crypto_sign_verify_detached')) {
            throw new \LogicException('Public keys need the extension sodium of PHP.');
        }
        return $bytes;
    }

    // With or without its padding.
    private static function decodeBase64(string $text): ?string
    {
        $bytes = base64_decode(rtrim($text, '='), true);
        return $bytes === false ? null : $bytes;
    }

    private static function noMatch(string $header): VerificationError
    {
        return new VerificationError('no_match', "No signature in $header is valid. Check that this is the secret, or key, "
            . 'of this webhook, and that the body is exactly as it arrived.');
    }

    private static function missingSecret(string $what): VerificationError
    {
        return new VerificationError('missing_secret', "There is no secret to verify with: $what. "
            . 'Set its variable, such as WEBHOOK_SECRET=whsec_….');
    }

    private static function notASecret(string $why): VerificationError
    {
        return new VerificationError('not_a_secret', "This is not a signing secret: $why. "
            . 'Pass the webhook\'s "secret" as it was issued (whsec_…).');
    }

    private static function notAKey(string $why): VerificationError
    {
        return new VerificationError('not_a_key', "This is not a public key: $why. "
            . 'Pass "public_key" of the webhook as it is shown (whpk_…).');
    }
}
