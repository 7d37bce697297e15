//! Workers that die, run twice and come back late over a store that loses answers: always the result
//! of one machine.

#[cfg(test)]
mod chaos;
#[cfg(test)]
#[cfg(unix)]
mod damage;
#[cfg(test)]
#[cfg(unix)]
mod directory;
#[cfg(test)]
mod generations;
#[cfg(test)]
mod support;
