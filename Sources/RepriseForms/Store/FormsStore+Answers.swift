import RepriseCore
import RepriseJournal
import RepriseWire

/// Records deep links, events and answers of forms, each once by its id, before the page gets its
/// reply.
extension FormsStore {
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` for a link that no app should follow,
    ///   `.malformed`, `.tooLarge`, and as the journal throws.
    func record(_ action: PageMessage.Action, id: String, of form: String) async throws {
        switch action {
        case .deepLink(let url):
            guard DeepLink.isAllowed(url) else {
                throw RepriseError(.refused, "An app is not sent to such a place.")
            }
            var payload = JSONWriter()
            payload.object { json in
                json.key("url")
                json.string(url)
                json.key("form")
                json.string(form)
            }
            try await journal.record(
                NewEntry(
                    id: Self.entryID(id), kind: FormsEvent.link, source: "form",
                    payload: payload.bytes))
        case .emit(let name, let properties):
            let content = try EventContent(name: name, properties: properties)
            try await journal.record(content.entry(id: Self.entryID(id), source: "form"))
        }
    }

    /// Answers and the end of their showing in one transaction.
    func submit(
        _ id: String, _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen,
        record: @escaping Forms.Answers
    ) async throws {
        try await journal.write { [journal] db in
            let user = try Self.identity(db).user
            let body = Self.body(answers, screen, user: user)
            try record(body, Self.entryID(id), db)
            try Self.end(screen.showing.id, "submitted", at: journal.now.milliseconds, db)
        }
    }

    private static func body(
        _ answers: [UInt8], _ screen: FormsMachine.FormOnScreen, user: String?
    ) -> [UInt8] {
        var body = JSONWriter(reserving: answers.count + 256)
        body.object { json in
            json.key("form")
            json.string(screen.showing.form)
            json.key("catalogue")
            json.string(screen.catalogue)
            json.key("event")
            json.plain(screen.showing.event.text)
            json.key("showing")
            json.plain(screen.showing.id)
            if let user {
                json.key("user")
                json.string(user)
            }
            json.key("answers")
            json.raw(answers)
        }
        return body.bytes
    }

    /// 32 hexadecimal digits after a prefix: always an id.
    private static func entryID(_ id: String) -> EntryID { EntryID(unchecked: "forms-" + id) }
}
