@_spi(_Unicode) import Swift

/// The name of a user, in the one form in which it is compared, stored and looked up: trimmed, in lower case, and in Unicode's form NFC.
///
/// Two texts that Swift calls equal have one NFC, so that two names are equal only if their bytes are.
public struct Username: Sendable, Hashable {
  /// In Unicode scalars, before trimming.
  public static let length = 1...256
  /// No user: of an anonymous device.
  public static let nobody = Username("")

  public let text: String

  /// The user that a client, a producer or a stored record calls `name`. The name of a user is neither empty nor contains a control
  /// character: see ``validated(_:)``.
  public init(_ name: String) {
    text = Username.normalized(name)
  }

  /// The user called `name`; nil if it is blank or contains a control character.
  public static func validated(_ name: String) -> Username? {
    let username = Username(name)
    guard !username.isEmpty, !username.text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
    return username
  }

  public var isEmpty: Bool { text.isEmpty }

  private static func normalized(_ name: String) -> String {
    if name.utf8.span.withUnsafeBufferPointer({ $0.allSatisfy(isPlain) }) { return name }
    var scalars = name.unicodeScalars[...]
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return composed(String(scalars).lowercased())
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }

  /// The text in NFC.
  private static func composed(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: text._nfc)
    return String(scalars)
  }
}

extension Username {
  /// Whether other texts than ``text`` are the same name in another form of Unicode. Of ASCII only `;` and the grave accent have one.
  package var hasOtherForms: Bool {
    text.utf8.contains { $0 >= 0x80 || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "`") }
  }

  /// The name in NFD, as other programs may have stored it; nil if it has the same bytes.
  package var decomposed: ExactText? {
    guard hasOtherForms else { return nil }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: text._nfd)
    let other = ExactText(String(scalars))
    return other == ExactText(text) ? nil : other
  }
}

extension Username: Comparable {
  public static func < (left: Username, right: Username) -> Bool { ExactText(left.text) < ExactText(right.text) }
}

extension Username: CustomStringConvertible {
  public var description: String { text }
}

extension Username: ExpressibleByStringInterpolation {
  public init(stringLiteral name: String) { self.init(name) }
}

extension Unicode.Scalar {
  /// Whether this is a control character: of the general category Cc.
  package var isControl: Bool { value < 0x20 || (0x7F...0x9F).contains(value) }
}
