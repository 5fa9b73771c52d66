import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator

/// A JSON file with inputs: written by `--print-inputs`, read by `--inputs`.
///
/// Each member is the name of an input, with a number, which is then certain, or with `value`,
/// `low` and `high`. Absent inputs keep their defaults.
enum ReachInputsFile {
    /// Reads a file over the defaults.
    ///
    /// - Throws: ``CommandFailure`` for a file that cannot be read; `RepriseError` `.malformed` or
    ///   `.tooLarge`, naming the member.
    static func read(_ path: String) throws -> ReachInputs {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(.noInput, "The file \(path) cannot be read.")
        }
        defer { try? file.close() }
        let data: Data
        do {
            data = try file.read(upToCount: ReachLimits.fileBytes + 1) ?? Data()
        } catch {
            throw CommandFailure(.noInput, "The file \(path) cannot be read.")
        }
        guard data.count <= ReachLimits.fileBytes else {
            throw RepriseError(.tooLarge, "The file with inputs has more than 1 MiB.")
        }
        return try inputs(data)
    }

    static func inputs(_ data: Data) throws -> ReachInputs {
        let members: [String: Member]
        do {
            members = try JSONDecoder().decode([String: Member].self, from: data)
        } catch let error as DecodingError {
            throw wrong(error)
        }
        var inputs = ReachInputs()
        for (name, member) in members.sorted(by: { $0.key < $1.key }) {
            guard let input = ReachInput(rawValue: name) else {
                throw RepriseError(
                    .malformed, "There is no input \(name.fitting(40)).",
                    remedy: "`reprise-lab reach --print-inputs` names them.")
            }
            inputs[input] = try member.assumption(input, over: inputs[input])
        }
        return inputs
    }

    /// The inputs as such a file.
    static func text(_ inputs: ReachInputs) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes, .sortedKeys]
        let members = Dictionary(
            uniqueKeysWithValues: ReachInput.allCases.map { ($0.rawValue, Member($0, inputs[$0])) })
        return String(decoding: try encoder.encode(members), as: UTF8.self)
    }

    private static func wrong(_ error: DecodingError) -> RepriseError {
        func named(_ context: DecodingError.Context, _ more: [any CodingKey] = []) -> String {
            (context.codingPath + more).map(\.stringValue).joined(separator: ".")
        }
        let place: String
        var what = "is not what it should be"
        switch error {
        case .typeMismatch(_, let context):
            place = named(context)
            what = place.isEmpty ? "" : "is of the wrong type"
        case .valueNotFound(_, let context):
            place = named(context)
            what = "is null"
        case .keyNotFound(let key, let context):
            place = named(context, [key])
            what = "is missing"
        case .dataCorrupted(let context): place = named(context)
        @unknown default: place = ""
        }
        guard !place.isEmpty else {
            return RepriseError(
                .malformed, "The file with inputs is not a JSON object of inputs.",
                remedy: "`reprise-lab reach --print-inputs` writes one.")
        }
        return RepriseError(
            .malformed, "In the file with inputs, \(place.fitting(60)) \(what).",
            remedy: "An input is a number, or an object with value, low and high.")
    }
}

extension ReachInputsFile {
    /// One input in the file.
    struct Member: Codable {
        var title: String?
        var low: Double?
        var value: Double?
        var high: Double?
        var basis: ReachInput.Basis?
        var source: String?

        private enum Key: String, CodingKey, CaseIterable {
            case title, low, value, high, basis, source
        }

        init(_ input: ReachInput, _ assumption: ReachAssumption) {
            title = input.title
            low = assumption.range.low
            value = assumption.range.value
            high = assumption.range.high
            basis = assumption.basis
            source = assumption.source
        }

        init(from decoder: any Decoder) throws {
            if let number = try? decoder.singleValueContainer().decode(Double.self) {
                (low, value, high) = (number, number, number)
                return
            }
            let names = try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue)
            if let foreign = names.sorted().first(where: { Key(rawValue: $0) == nil }) {
                let context = DecodingError.Context(
                    codingPath: decoder.codingPath + [AnyKey(stringValue: foreign)],
                    debugDescription: "unknown")
                throw DecodingError.dataCorrupted(context)
            }
            let members = try decoder.container(keyedBy: Key.self)
            title = try members.decodeIfPresent(String.self, forKey: .title)
            low = try members.decodeIfPresent(Double.self, forKey: .low)
            value = try members.decodeIfPresent(Double.self, forKey: .value)
            high = try members.decodeIfPresent(Double.self, forKey: .high)
            basis = try members.decodeIfPresent(ReachInput.Basis.self, forKey: .basis)
            source = try members.decodeIfPresent(String.self, forKey: .source)
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encodeIfPresent(title, forKey: .title)
            try members.encodeIfPresent(low, forKey: .low)
            try members.encodeIfPresent(value, forKey: .value)
            try members.encodeIfPresent(high, forKey: .high)
            try members.encodeIfPresent(basis, forKey: .basis)
            try members.encodeIfPresent(source, forKey: .source)
        }

        func assumption(
            _ input: ReachInput, over standard: ReachAssumption
        ) throws -> ReachAssumption {
            let value = value ?? standard.range.value
            // A new value with no range of its own keeps the default one, made as wide as it needs.
            let range = ReachRange(
                low ?? min(standard.range.low, value), value,
                high ?? max(standard.range.high, value))
            for (name, number) in [("low", range.low), ("value", value), ("high", range.high)] {
                guard input.possible.contains(number) else {
                    throw RepriseError(
                        .malformed,
                        "In the file with inputs, \(input.rawValue).\(name) is \(number.plain).",
                        remedy: "It lies between \(input.possible.lowerBound.plain) and "
                            + "\(input.possible.upperBound.plain): \(input.title).")
                }
            }
            guard range.low <= value, value <= range.high else {
                throw RepriseError(
                    .malformed,
                    "In the file with inputs, \(input.rawValue).value does not lie between its low "
                        + "and its high.",
                    remedy:
                        "low \(range.low.plain), value \(value.plain), high \(range.high.plain).")
            }
            let isNew = range != standard.range
            return ReachAssumption(
                range: range, basis: basis ?? (isNew ? .assumed : standard.basis),
                source: source ?? (isNew ? "The file with inputs." : standard.source))
        }
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Double {
    /// Without a point where it is whole, with as many digits as it needs.
    var plain: String {
        self == rounded() && abs(self) < 1e15 ? String(Int64(self)) : String(self)
    }
}
