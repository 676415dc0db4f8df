/// A fragment of a page, in UTF-8.
///
/// Text and the values of attributes are escaped when they are appended. Only a `StaticString` of this program is markup, so
/// nothing that comes from outside can become an element, an attribute or a script.
package struct HTML: Sendable {
  /// The attributes of an element in their order. An attribute whose value is nil is left out.
  package typealias Attributes = KeyValuePairs<StaticString, String?>

  package private(set) var bytes: [UInt8] = []

  package init() {}

  /// Makes a fragment with `content`.
  package init(_ content: (inout HTML) -> Void) {
    content(&self)
  }

  package var isEmpty: Bool { bytes.isEmpty }

  /// Appends text.
  package mutating func text(_ text: String) {
    HTMLEscaping.append(text, to: &bytes)
  }

  /// Appends the value of an attribute. A form sends it back unchanged, with any characters.
  package mutating func exactly(_ text: String) {
    HTMLEscaping.appendExactly(text, to: &bytes)
  }

  /// Appends markup of this program.
  package mutating func raw(_ markup: StaticString) {
    markup.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  package mutating func append(_ fragment: HTML) {
    bytes.append(contentsOf: fragment.bytes)
  }

  /// Appends an element with `content`.
  package mutating func element(_ name: StaticString, _ attributes: Attributes = [:], _ content: (inout HTML) -> Void) {
    open(name, attributes)
    content(&self)
    close(name)
  }

  /// Appends an element without attributes that contains `text`.
  package mutating func element(_ name: StaticString, _ text: String) {
    element(name, [:], text)
  }

  /// Appends an element that contains `text`.
  package mutating func element(_ name: StaticString, _ attributes: Attributes, _ text: String) {
    open(name, attributes)
    self.text(text)
    close(name)
  }

  /// Appends an element that has no content and no end tag: `input`, `link`, `meta`.
  package mutating func void(_ name: StaticString, _ attributes: Attributes = [:]) {
    open(name, attributes)
  }

  private mutating func open(_ name: StaticString, _ attributes: Attributes) {
    bytes.append(UInt8(ascii: "<"))
    raw(name)
    for (key, value) in attributes {
      guard let value else { continue }
      bytes.append(UInt8(ascii: " "))
      raw(key)
      raw("=\"")
      text(value)
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: ">"))
  }

  private mutating func close(_ name: StaticString) {
    raw("</")
    raw(name)
    bytes.append(UInt8(ascii: ">"))
  }
}

extension HTML {
  /// Appends a link.
  package mutating func link(_ text: String, to link: Link, class name: String? = nil) {
    element("a", ["href": link.text, "class": name], text)
  }
}
