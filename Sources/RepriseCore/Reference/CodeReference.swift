/// A row of `docs/errors.md` and of the tables of codes in `docs/protocol.md`.
package struct CodeReference: Sendable, Encodable {
    let code: String
    let meaning: LimitText
    /// What a program or a person does about it.
    let remedy: String

    package init(_ code: String, _ meaning: LimitText, _ remedy: String) {
        self.code = code
        self.meaning = meaning
        self.remedy = remedy
    }
}
