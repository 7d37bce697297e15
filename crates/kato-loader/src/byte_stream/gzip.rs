//! Reads gzip archives of any number of members, and passes over the zeros that pad them.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The members of an archive, one behind the other (RFC 1952, section 2.2).
pub(super) struct GzipMembers<R> {
    /// The member being read; none between two, which a failed read may leave behind as well.
    member: Option<GzDecoder<R>>,
    /// The bytes behind the last member.
    rest: Option<R>,
}

impl<R: BufRead> GzipMembers<R> {
    /// Creates a reader of an archive that begins with a member.
    pub(super) fn new(archive: R) -> Self {
        Self {
            member: Some(GzDecoder::new(archive)),
            rest: None,
        }
    }

    /// Goes to the next member, if there is one: behind a member zeros are padding, as blocks of
    /// tapes and disks are filled with them.
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(rest) = &mut self.rest else {
            return Ok(false);
        };
        loop {
            let available = rest.fill_buf()?;
            let zeros = available.iter().take_while(|byte| **byte == 0).count();
            let (is_end, has_member) = (available.is_empty(), zeros < available.len());
            rest.consume(zeros);
            if is_end {
                return Ok(false);
            }
            if has_member {
                break;
            }
        }
        self.member = self.rest.take().map(GzDecoder::new);
        Ok(true)
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(member) = &mut self.member {
                let read = member.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.rest = self.member.take().map(GzDecoder::into_inner);
            }
            if !self.next_member()? {
                return Ok(0);
            }
        }
    }
}
