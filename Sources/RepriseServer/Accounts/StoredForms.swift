import Foundation
import GRDB
package import RepriseCore
package import RepriseWire

/// A catalogue of forms as the server keeps it.
package struct StoredForms: Hashable, Sendable {
    /// What its author calls it.
    package let version: String
    /// Names these bytes and no others, as an entity tag does (RFC 9110 §8.8.3), with its quotes.
    package let tag: String
    /// As they came.
    package let bytes: [UInt8]
    /// When it became the current one.
    package let time: WallTime

    /// - Parameters:
    ///   - catalogue: checked.
    ///   - time: now.
    package init(_ catalogue: FormsCatalogue, at time: WallTime) {
        version = catalogue.version
        bytes = catalogue.bytes
        self.time = time
        // One version has one content, so the hash need not resist who makes two on purpose.
        let text = String(decoding: catalogue.bytes, as: UTF8.self)
        tag = "\"\(catalogue.version)-\(EntryID.hash(of: text, prefix: "").text)\""
    }

    init(row: Row) {
        version = row["version"]
        tag = row["tag"]
        bytes = Array(row["bytes"] as Data)
        time = WallTime(milliseconds: row["time"])
    }
}

/// What came of pushing a catalogue.
package enum FormsChange: Hashable, Sendable {
    /// The company had none.
    case created(StoredForms)
    /// It takes the place of another, or is a former one again.
    case replaced(StoredForms)
    /// It is the current one already.
    case unchanged(StoredForms)

    /// What is current now.
    package var current: StoredForms {
        switch self {
        case .created(let forms), .replaced(let forms), .unchanged(let forms): forms
        }
    }
}
