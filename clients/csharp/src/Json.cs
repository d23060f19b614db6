using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Hookferry
{
    /// <summary>
    /// A value of JSON and its text. An object is a dictionary of nodes, and a list a list of nodes. Read by a parser of
    /// its own, because .NET Standard and Mono have none that keeps the text.
    /// </summary>
    internal sealed class JsonNode
    {
        internal object Value;
        internal string Text;

        internal Dictionary<string, JsonNode> Members => Value as Dictionary<string, JsonNode>;
        internal List<JsonNode> Items => Value as List<JsonNode>;

        /// <summary>With dictionaries and lists of plain values.</summary>
        internal object Plain()
        {
            if (Items != null) return Items.Select(item => item.Plain()).ToList();
            if (Members != null) return Members.ToDictionary(member => member.Key, member => member.Value.Plain());
            return Value;
        }
    }

    /// <summary>Reads JSON (RFC 8259).</summary>
    internal sealed class JsonReader
    {
        // As deep as other parsers go, and no deeper than the stack.
        private const int MaxDepth = 512;

        private readonly string text;
        private int at;
        private int depth;

        private JsonReader(string text)
        {
            this.text = text;
        }

        /// <exception cref="FormatException">It is not JSON.</exception>
        internal static JsonNode Parse(string text)
        {
            var reader = new JsonReader(text);
            var node = reader.ReadValue();
            reader.SkipSpace();
            if (reader.at < text.Length) throw reader.Unexpected();
            return node;
        }

        /// <summary>A text as JSON.</summary>
        internal static string Quote(string text)
        {
            var quoted = new StringBuilder("\"");
            foreach (var c in text)
            {
                if (c == '"' || c == '\\') quoted.Append('\\').Append(c);
                else if (c < ' ' || char.IsSurrogate(c)) quoted.Append("\\u").Append(((int)c).ToString("x4"));
                else quoted.Append(c);
            }
            return quoted.Append('"').ToString();
        }

        private JsonNode ReadValue()
        {
            SkipSpace();
            var start = at;
            var value = ReadAny();
            return new JsonNode { Value = value, Text = text.Substring(start, at - start) };
        }

        private object ReadAny()
        {
            switch (Peek())
            {
                case '{': return ReadObject();
                case '[': return ReadList();
                case '"': return ReadString();
                case 't': return ReadWord("true", true);
                case 'f': return ReadWord("false", false);
                case 'n': return ReadWord("null", null);
                default: return ReadNumber();
            }
        }

        private Dictionary<string, JsonNode> ReadObject()
        {
            Enter();
            var members = new Dictionary<string, JsonNode>();
            SkipSpace();
            if (Peek() != '}')
            {
                do
                {
                    SkipSpace();
                    var name = ReadString();
                    SkipSpace();
                    Expect(':');
                    members[name] = ReadValue();
                    SkipSpace();
                }
                while (Takes(','));
            }
            Leave('}');
            return members;
        }

        private List<JsonNode> ReadList()
        {
            Enter();
            var items = new List<JsonNode>();
            SkipSpace();
            if (Peek() != ']')
            {
                do
                {
                    items.Add(ReadValue());
                    SkipSpace();
                }
                while (Takes(','));
            }
            Leave(']');
            return items;
        }

        private void Enter()
        {
            at++;
            if (++depth > MaxDepth) throw new FormatException($"JSON with more than {MaxDepth} levels");
        }

        private void Leave(char end)
        {
            Expect(end);
            depth--;
        }

        private string ReadString()
        {
            Expect('"');
            var result = new StringBuilder();
            while (Peek() != '"')
            {
                var c = text[at++];
                if (c < ' ') throw Unexpected();
                result.Append(c == '\\' ? ReadEscape() : c);
            }
            at++;
            return result.ToString();
        }

        private char ReadEscape()
        {
            var c = Peek();
            at++;
            switch (c)
            {
                case '"': case '\\': case '/': return c;
                case 'b': return '\b';
                case 'f': return '\f';
                case 'n': return '\n';
                case 'r': return '\r';
                case 't': return '\t';
                case 'u': return ReadHex();
                default: throw Unexpected();
            }
        }

        private char ReadHex()
        {
            var digits = text.Substring(at, Math.Min(4, text.Length - at));
            if (digits.Length < 4 || !digits.All(Uri.IsHexDigit)) throw Unexpected();
            at += 4;
            return (char)Convert.ToInt32(digits, 16);
        }

        private object ReadWord(string word, object value)
        {
            if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) throw Unexpected();
            at += word.Length;
            return value;
        }

        private object ReadNumber()
        {
            var start = at;
            Takes('-');
            if (!Takes('0')) ReadDigits();
            var isWhole = true;
            if (Takes('.'))
            {
                isWhole = false;
                ReadDigits();
            }
            if (Takes('e') || Takes('E'))
            {
                isWhole = false;
                if (!Takes('+')) Takes('-');
                ReadDigits();
            }
            var number = text.Substring(start, at - start);
            if (isWhole && long.TryParse(number, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var whole))
            {
                return whole;
            }
            // Out of the range of a double it is infinite in .NET, and an error in Mono and the .NET Framework.
            return double.TryParse(number, NumberStyles.Float, CultureInfo.InvariantCulture, out var value)
                ? value
                : number[0] == '-' ? double.NegativeInfinity : double.PositiveInfinity;
        }

        private void ReadDigits()
        {
            var start = at;
            while (at < text.Length && text[at] >= '0' && text[at] <= '9') at++;
            if (at == start) throw Unexpected();
        }

        private void SkipSpace()
        {
            while (at < text.Length && " \t\r\n".IndexOf(text[at]) >= 0) at++;
        }

        private char Peek() => at < text.Length ? text[at] : throw Unexpected();

        private bool Takes(char c)
        {
            var isNext = at < text.Length && text[at] == c;
            if (isNext) at++;
            return isNext;
        }

        private void Expect(char c)
        {
            if (!Takes(c)) throw Unexpected();
        }

        private FormatException Unexpected() => new FormatException($"no JSON at the character {at}");
    }
}
