import Foundation
import JSON
import Program
import Testing

@testable import Martlet

/// The pages of the repository name only files, headings and settings that exist.
struct DocumentationTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
  private static let pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] + markdown(in: "docs")

  private static func markdown(in folder: String) -> [String] {
    let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path())
    return (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
  }

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  private static func swiftFiles() -> [String] {
    ["Sources", "Tests", "Tools", "clients"].flatMap { folder in
      let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path())
      return (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }
    }
  }

  private func exists(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.standardizedFileURL.path()) }

  /// Returns the anchors that GitHub gives to the headings of a page.
  private func anchors(_ text: String) -> Set<String> {
    Set(
      text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
        line.drop { $0 == "#" || $0 == " " }.lowercased().replacing(" ", with: "-").filter {
          $0.isLetter || $0.isNumber || "-_".contains($0)
        }
      })
  }

  @Test(arguments: pages) func `every relative link leads to a file and a heading`(page: String) throws {
    let folder = Self.root.appending(path: page).deletingLastPathComponent()
    for match in try Self.text(page).matches(of: /\]\(([^)\s]+)\)/) {
      let link = match.1
      guard !link.contains(":") else { continue }
      let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let target = parts[0].isEmpty ? Self.root.appending(path: page) : folder.appending(path: parts[0])
      #expect(exists(target), "\(page): \(link)")
      guard parts.count == 2, target.pathExtension == "md", exists(target) else { continue }
      let headings = anchors(try String(contentsOf: target.standardizedFileURL, encoding: .utf8))
      #expect(headings.contains(String(parts[1])), "\(page): \(link)")
    }
  }

  @Test(arguments: pages.filter { $0 != "CHANGELOG.md" })
  func `every path of the repository that a page names exists`(page: String) throws {
    for match in try Self.text(page).matches(of: /\b(Sources|Tests|Tools|docs|deploy|bench)\/[A-Za-z0-9_+.\/-]*/) {
      let path = match.0.hasSuffix(".") ? match.0.dropLast() : match.0
      #expect(exists(Self.root.appending(path: path)), "\(page): \(path)")
    }
  }

  @Test(arguments: pages.filter { $0 != "CHANGELOG.md" })
  func `every Swift file that a page names exists`(page: String) throws {
    let names = Set(Self.swiftFiles().compactMap { $0.split(separator: "/").last.map(String.init) })
    for match in try Self.text(page).matches(of: /[A-Za-z0-9_+]+\.swift\b/) where match.0 != "Package.swift" {
      #expect(names.contains(String(match.0)), "\(page): \(match.0)")
    }
  }

  /// The names of settings in docs/settings.md.
  static let settings: Set<String> = {
    let page = FileManager.default.contents(atPath: root.appending(path: "docs/settings.md").path()) ?? Data()
    let names = String(decoding: page, as: UTF8.self).matches(
      of: /`((?:MARTLET|APNS|REDIS|PUSH|OTEL)_[A-Z_]+[A-Z]|TZ|keyId|teamId)`/)
    return Set(names.map { String($0.1) })
  }()

  @Test func `every setting that is declared is read and documented, and no other`() throws {
    let declared = Setting.core + Parts.settings
    let names = Set(declared.flatMap { [$0.name] + $0.aliases })
    #expect(names.count > 40)
    // libcurl reads those of proxies.
    let ours = names.filter { !$0.hasSuffix("_PROXY") && !$0.hasPrefix("CLAUDIATOR_") }
    #expect(Self.settings.symmetricDifference(ours) == ["TZ"])
    // The platforms of SNS have names of this form, too.
    let sources = try Self.swiftFiles().filter {
      $0.hasPrefix("Sources/") && !$0.contains("/Tests/") && !$0.hasSuffix("/DeviceFormats.swift")
    }.map(Self.text).joined()
    for name in sources.matches(of: /"((?:MARTLET|APNS|REDIS|PUSH|OTEL)_[A-Z_]+[A-Z])"/) {
      #expect(names.contains(String(name.1)), "\(name.1)")
    }
    for setting in sources.matches(of: #/static let (\w+) = Setting\(\s*"(\w+)"/#) {
      let use = try Regex(#"\(\.?\#(setting.1)[,)]|\b(Self|\w+Part)\.\#(setting.1)[,).]"#)
      #expect(sources.contains(use), "\(setting.2) is not read")
    }
  }

  @Test func `the modules that import C are those that the rules name`() throws {
    var libraries: Set<Substring> = []
    var files: Set<Substring> = []
    for file in Self.swiftFiles() where file.hasPrefix("Sources/") {
      for match in try Self.text(file).matches(of: /(?m)^(?:public |package )?import (C[A-Z]\w+)$/) {
        let module = file.split(separator: "/")[1]
        if match.1 == "CFiles" { files.insert(module) } else { libraries.insert(module) }
      }
    }
    let rule = try #require(try Self.text("CONTRIBUTING.md").firstMatch(of: /\n13\. (.*)\n    (.*)\n/))
    func names(_ line: Substring) -> Set<Substring> { Set(line.matches(of: /`(\w+)`/).map(\.1)) }
    #expect(names(rule.1) == libraries)
    #expect(names(rule.2) == files.union(["CFiles"]))
  }

  @Test func `the changes of the version are described, and none that are older than a release`() throws {
    let changes = try Self.text("CHANGELOG.md").matches(of: /\n## (.+)\n/).map { String($0.1) }
    #expect(changes.first == "Unreleased" || changes.first == Version.current)
    #expect(changes.filter { $0 == Version.current }.count <= 1)
  }
}
