using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

namespace Hookferry.Tests
{
    using HeaderList = List<KeyValuePair<string, string>>;

    /// <summary>
    /// Runs each public method of the test classes, and says how many passed. Without a library, as the package itself.
    /// </summary>
    internal static class Program
    {
        internal const string Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        internal const string Order = "{\"type\":\"order.created\",\"data\":{\"id\":\"ord_1\"}}";

        private static int Main()
        {
            var (passed, failed) = (0, 0);
            foreach (var each in new[] { typeof(ConformanceTest), typeof(ReceiverTest) })
            {
                foreach (var test in each.GetMethods(BindingFlags.Public | BindingFlags.Static | BindingFlags.DeclaredOnly))
                {
                    try
                    {
                        test.Invoke(null, null);
                        passed++;
                    }
                    catch (TargetInvocationException error)
                    {
                        failed++;
                        Console.WriteLine($"FAILED {each.Name}.{test.Name}: {error.InnerException}");
                    }
                }
            }
            Console.WriteLine($"{passed} passed, {failed} failed");
            return failed == 0 ? 0 : 1;
        }

        internal static void Same(object expected, object found, string what)
        {
            if (Show(expected) != Show(found)) throw new Exception($"{what}: {Show(found)} instead of {Show(expected)}");
        }

        internal static string Show(object value)
        {
            if (value == null) return "null";
            if (value is string text) return JsonReader.Quote(text);
            if (value is bool flag) return flag ? "true" : "false";
            if (value is IReadOnlyDictionary<string, object> members)
            {
                var names = members.Keys.OrderBy(name => name, StringComparer.Ordinal);
                return $"{{{string.Join(",", names.Select(name => $"{Show(name)}:{Show(members[name])}"))}}}";
            }
            if (value is System.Collections.IEnumerable items) return $"[{string.Join(",", items.Cast<object>().Select(Show))}]";
            return Convert.ToString(value, System.Globalization.CultureInfo.InvariantCulture);
        }

        /// <summary>The code of the exception, or "ok".</summary>
        internal static string Ending(Action call)
        {
            try
            {
                call();
                return "ok";
            }
            catch (VerificationException error)
            {
                return error.Code;
            }
        }

        internal static HeaderList Signed(string id, string body, bool isService = false)
        {
            var headers = new HeaderList();
            if (isService)
            {
                var hex = BitConverter.ToString(Hmac(Encoding.UTF8.GetBytes(Secret), body)).Replace("-", "").ToLowerInvariant();
                Add(headers, "X-Service-Signature", "sha256=" + hex);
                return headers;
            }
            var time = DateTimeOffset.UtcNow.ToUnixTimeSeconds().ToString();
            var hmac = Hmac(Convert.FromBase64String(Secret.Substring(6)), $"{id}.{time}.{body}");
            Add(headers, "Webhook-Id", id);
            Add(headers, "Webhook-Timestamp", time);
            Add(headers, "Webhook-Signature", "v1," + Convert.ToBase64String(hmac));
            return headers;
        }

        internal static void Add(HeaderList headers, string name, string value) =>
            headers.Add(new KeyValuePair<string, string>(name, value));

        private static byte[] Hmac(byte[] key, string text)
        {
            using (var hmac = new HMACSHA256(key)) return hmac.ComputeHash(Encoding.UTF8.GetBytes(text));
        }
    }
}
