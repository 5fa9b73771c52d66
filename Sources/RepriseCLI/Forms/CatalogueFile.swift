import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// A file that should be a catalogue of forms.
struct CatalogueFile {
    /// As it was typed; `-` is the standard input.
    let path: String

    /// - Throws: ``CommandFailure`` if it cannot be read; `FormsCatalogueFailure`.
    func read() throws -> FormsCatalogue { try FormsCatalogue(try bytes()) }

    /// Reads at most one byte beyond the limit.
    private func bytes() throws -> [UInt8] {
        do {
            let file =
                path == "-"
                ? FileHandle.standardInput
                : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            var bytes: [UInt8] = []
            while bytes.count <= FormsLimits.catalogueBytes,
                let piece = try file.read(upToCount: FormsLimits.catalogueBytes + 1),
                !piece.isEmpty
            {
                bytes += piece
            }
            return bytes
        } catch {
            throw CommandFailure(
                .noInput,
                "The file \(path) cannot be read. Check its name, and that it may be read.")
        }
    }

    /// A problem as compilers and editors know it.
    func line(_ problem: FormsProblem) -> String {
        "\(path == "-" ? "<stdin>" : path):\(problem)".printable
    }
}
