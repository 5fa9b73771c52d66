import RepriseCore

/// The workers by their identifiers.
package struct WorkerRegistry: Sendable {
    package typealias Run = @Sendable (_ input: [UInt8], WorkContext) async throws -> [UInt8]

    typealias GiveUp = @Sendable (_ input: [UInt8], _ key: String) async -> Void

    private var runs: [String: Run] = [:]
    private var givesUp: [String: GiveUp] = [:]

    package init(_ workers: [any Worker]) throws {
        for worker in workers {
            let identifier = type(of: worker).identifier
            guard (1...ChainsLimits.nameBytes).contains(identifier.utf8.count) else {
                throw RepriseError(
                    .badConfiguration, "“\(identifier.prefix(80))” is no name of a worker.",
                    remedy: "Names have 1 to \(ChainsLimits.nameBytes) bytes.")
            }
            guard runs.updateValue(Self.run(worker), forKey: identifier) == nil else {
                throw RepriseError(
                    .badConfiguration, "Two workers are named \(identifier).",
                    remedy: "Give each worker an identifier of its own.")
            }
            givesUp[identifier] = Self.onAbandon(worker)
        }
    }

    package subscript(_ identifier: String) -> Run? { runs[identifier] }

    func onAbandon(_ identifier: String) -> GiveUp? { givesUp[identifier] }

    private static func onAbandon<W: Worker>(_ worker: W) -> GiveUp {
        { input, key in
            guard let input = try? ChainJSON.decode(W.Input.self, from: input) else { return }
            await worker.onAbandon(input, key: key)
        }
    }

    private static func run<W: Worker>(_ worker: W) -> Run {
        { input, work in
            let decoded: W.Input
            do {
                decoded = try ChainJSON.decode(W.Input.self, from: input)
            } catch {
                throw DispatchFailure.permanent(
                    "The input is not what \(W.identifier) takes: \(error)")
            }
            let output = try ChainJSON.encode(try await worker.run(decoded, work))
            guard output.count <= ChainsLimits.outputBytes else {
                throw DispatchFailure.permanent(
                    "tooLarge: the output has \(output.count) bytes, and at most "
                        + "\(ChainsLimits.outputBytes) are kept.")
            }
            return output
        }
    }
}
