/// How a file is compressed. Exports are delivered so, and what is imported is the text.
enum Compression: CaseIterable {
  case gzip, zip, zstd

  /// Nil for text.
  init?(_ beginning: [UInt8]) {
    guard let found = Compression.allCases.first(where: { beginning.starts(with: $0.magic) }) else { return nil }
    self = found
  }

  private var magic: [UInt8] {
    switch self {
    case .gzip: [0x1F, 0x8B]
    case .zip: [0x50, 0x4B, 3, 4]
    case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
    }
  }

  /// Says how to unpack a file of this name.
  func fault(of file: String) -> String {
    let command =
      switch self {
      case .gzip: "gunzip -c"
      case .zip: "unzip -p"
      case .zstd: "zstd -dc"
      }
    let name = file == "stdin" ? "FILE" : file
    return "\(file) is compressed (\(self)): unpack it, for example \(command) \(name) > devices"
  }
}
