using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

namespace Hookferry
{
    /// <summary>Checks the signatures of requests.</summary>
    internal sealed class Signatures
    {
        private sealed class Secret
        {
            /// <summary>Of X-Service-Signature: the secret as it was issued.</summary>
            internal byte[] Issued;
            /// <summary>Of Standard Webhooks: the text after whsec_, decoded from base64.</summary>
            internal byte[] Decoded;
        }

        private readonly IReadOnlyList<Secret> secrets;
        private readonly long tolerance;
        private readonly string serviceHeader;
        private readonly string servicePrefix;

        internal Signatures(IReadOnlyCollection<string> secrets, TimeSpan tolerance, string serviceHeader, string servicePrefix)
        {
            if (secrets == null || secrets.Count == 0)
            {
                throw VerificationException.MissingSecret("Secrets must have one or more");
            }
            this.secrets = secrets.Select(ParseSecret).ToList();
            this.tolerance = (long)tolerance.TotalSeconds;
            this.serviceHeader = serviceHeader;
            this.servicePrefix = servicePrefix;
        }

        internal Signed Verify(byte[] body, Headers headers, DateTimeOffset now)
        {
            var signatures = headers.Read("webhook-signature");
            if (signatures != null) return VerifyStandard(body, signatures.Split(' '), headers, now);
            VerifyService(body, headers);
            return new Signed();
        }

        private Signed VerifyStandard(byte[] body, string[] given, Headers headers, DateTimeOffset now)
        {
            var id = headers.Require("webhook-id");
            var time = headers.Require("webhook-timestamp");
            if (!Regex.IsMatch(time, "^[0-9]{1,12}\\z"))
            {
                throw VerificationException.MissingHeader("webhook-timestamp", "is not a time in whole seconds");
            }
            var seconds = long.Parse(time, CultureInfo.InvariantCulture);
            var skew = seconds - now.ToUnixTimeSeconds();
            if (Math.Abs(skew) > tolerance) throw VerificationException.TimestampSkew(skew, tolerance);
            var message = Encoding.UTF8.GetBytes($"{id}.{time}.").Concat(body).ToArray();
            foreach (var secret in secrets)
            {
                var expected = "v1," + Convert.ToBase64String(Hmac(secret.Decoded, message));
                if (given.Any(signature => IsEqual(signature, expected)))
                {
                    // Twelve digits of seconds are more than DateTimeOffset has, but not within a tolerance of now.
                    return new Signed { Id = id, Timestamp = DateTimeOffset.FromUnixTimeSeconds(seconds) };
                }
            }
            throw VerificationException.NoMatch("webhook-signature");
        }

        private void VerifyService(byte[] body, Headers headers)
        {
            var given = headers.Read(serviceHeader);
            if (given == null)
            {
                throw VerificationException.MissingHeader("webhook-signature", $"is missing, and so is {serviceHeader}: "
                    + "pass all headers, and check that no proxy removes them");
            }
            foreach (var secret in secrets)
            {
                var hex = BitConverter.ToString(Hmac(secret.Issued, body)).Replace("-", "").ToLowerInvariant();
                if (IsEqual(given, servicePrefix + hex)) return;
            }
            throw VerificationException.NoMatch(serviceHeader);
        }

        // White space around a secret is ignored: files often end with a line break.
        private static Secret ParseSecret(string secret)
        {
            if (secret == null) throw VerificationException.MissingSecret("the secret is not set");
            var issued = secret.Trim();
            var encoded = issued.StartsWith("whsec_", StringComparison.Ordinal) ? issued.Substring(6) : issued;
            // With an empty key, anybody could make a valid HMAC.
            if (encoded.Length == 0) throw VerificationException.MissingSecret("the secret is empty");
            if (issued.StartsWith("whk_", StringComparison.Ordinal)) throw VerificationException.NotASecret("it is an API key");
            if (encoded.Any(char.IsWhiteSpace)) throw VerificationException.NotASecret("it has white space in it");
            return new Secret { Issued = Encoding.UTF8.GetBytes(issued), Decoded = DecodeBase64(encoded) };
        }

        // With or without its padding.
        private static byte[] DecodeBase64(string text)
        {
            var digits = text.TrimEnd('=');
            try
            {
                return Convert.FromBase64String(digits + new string('=', (4 - digits.Length % 4) % 4));
            }
            catch (FormatException)
            {
                throw VerificationException.NotASecret("it is not base64");
            }
        }

        private static byte[] Hmac(byte[] key, byte[] message)
        {
            using (var hmac = new HMACSHA256(key)) return hmac.ComputeHash(message);
        }

        // In constant time: it takes as long for a nearly right signature as for a wrong one.
        private static bool IsEqual(string given, string expected)
        {
            if (given.Length != expected.Length) return false;
            var difference = 0;
            for (var index = 0; index < expected.Length; index++) difference |= given[index] ^ expected[index];
            return difference == 0;
        }
    }
}
