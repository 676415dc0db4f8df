import Foundation
import TestSupport
import Testing

/// What the scripts of the repository do as root on machines that others use too.
struct ScriptSafetyTests {
  private static let root = RedisUsers.file("../..").standardizedFileURL

  /// Every script: files that name a shell or Python in their first line, and those that such files read.
  private static func scripts() -> [(name: String, lines: [Substring])] {
    ["deploy", "Tests", "bench", ".ci"].flatMap { folder in
      let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path())?.compactMap {
        $0 as? String
      }
      return (names ?? []).compactMap { name -> (String, [Substring])? in
        let file = root.appending(path: "\(folder)/\(name)")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return nil }
        let isScript = text.hasPrefix("#!") || [".py", ".bash"].contains { name.hasSuffix($0) }
        return isScript ? ("\(folder)/\(name)", text.split(separator: "\n", omittingEmptySubsequences: false)) : nil
      }
    }
  }

  @Test func `no script makes a file or a directory that everybody may write`() {
    let scripts = Self.scripts()
    #expect(scripts.count > 60)
    for (name, lines) in scripts {
      for line in lines where !line.drop(while: { $0 == " " }).hasPrefix("#") {
        guard line.contains("chmod") || line.contains("-m") || line.contains("umask") else { continue }
        let modes = line.matches(of: /(?:chmod|-m|--mode=?)\s*\(?(?:0o?)?([0-7]{3,4})\b/).compactMap {
          Int($0.1, radix: 8)
        }
        #expect(modes.allSatisfy { $0 & 0o002 == 0 }, "\(name): \(line)")
        #expect(line.firstMatch(of: /chmod\s+\S*[ao+]*[ao]\S*[+=]\S*w/) == nil, "\(name): \(line)")
        #expect(!line.contains("umask 0\n") && !line.contains("umask 000"), "\(name): \(line)")
      }
    }
  }

  @Test func `no script uses a name in a directory for everybody that others can foresee`() {
    for (name, lines) in Self.scripts() {
      for line in lines where !line.drop(while: { $0 == " " }).hasPrefix("#") {
        guard line.contains("tmp/") else { continue }
        let places = line.matches(of: /(?:^|[\s"'=>])\/(?:var\/)?tmp\/[A-Za-z0-9._$-]+/)
        #expect(places.isEmpty || line.contains("mktemp"), "\(name): \(line)")
      }
    }
  }

  /// apt's own user cannot write where only root can, and a directory for both would be one for that user's other programs.
  @Test func `a package is fetched by root into a directory of its own`() {
    for (name, lines) in Self.scripts() {
      for line in lines where line.contains("apt-get") && line.contains(" download ") {
        #expect(line.contains("APT::Sandbox::User=root") || line.contains("\"${apart[@]}\""), "\(name): \(line)")
      }
    }
  }
}
