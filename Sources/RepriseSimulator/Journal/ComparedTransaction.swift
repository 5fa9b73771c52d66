/// Does everything in both, and compares the answers; each door extends it in a file of its own.
package final class ComparedTransaction {
    package let model: ModelTransaction
    package let real: GRDBTransaction

    package init(_ model: ModelTransaction, _ real: GRDBTransaction) {
        self.model = model
        self.real = real
    }

    /// Does the same in both.
    package func both<T: Equatable>(
        _ what: @autoclosure () -> String, _ body: (any DeviceTransaction) throws -> T
    ) throws -> T {
        let expected = Result { try body(model) }
        let found = Result { try body(real) }
        switch (expected, found) {
        case (.success(let left), .success(let right)) where left == right: return right
        case (.failure(let left), .failure(let right)) where "\(left)" == "\(right)": throw right
        default: throw Difference(what: what(), model: "\(expected)", real: "\(found)")
        }
    }
}

/// The model and the shipping code disagree.
package struct Difference: Error, CustomStringConvertible {
    package var what: String
    package var model: String
    package var real: String

    package var description: String { "\(what): the model says \(model), the journal \(real)" }
}

extension ComparedTransaction: DeviceTransaction {}
